{{- define "swyb.name" -}}
{{- if contains "swyb" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-swyb" (.Release.Name | trunc 45) | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "swyb.selector" -}}
app.kubernetes.io/name: swyb
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: server
{{- end }}

{{- define "swyb.redisSelector" -}}
app.kubernetes.io/name: swyb
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: redis
{{- end }}

{{- define "swyb.labels" -}}
app.kubernetes.io/name: swyb
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "swyb.secret" -}}
{{ .Values.existingSecret | default (include "swyb.name" .) }}
{{- end }}

{{- /* Address of the store that servers share; empty where it is a key of the Secret. */}}
{{- define "swyb.store" -}}
{{- if .Values.store.fromSecret }}{{ else if .Values.store.address }}{{ .Values.store.address }}{{ else if .Values.redis.enabled }}redis://{{ include "swyb.name" . }}-redis:6379/0{{ else }}none{{ end }}
{{- end }}

{{- define "swyb.ownRedis" -}}
{{- if and .Values.redis.enabled (not .Values.store.address) (not .Values.store.fromSecret) }}true{{ end }}
{{- end }}

{{- /* Seconds for a server to end: its own times, and what comes after them (docs/how-to/deploy.md). */}}
{{- define "swyb.graceSeconds" -}}
{{- add (ceil (.Values.config.drain_seconds | default 5 | float64)) (ceil (.Values.config.shutdown_seconds | default 10 | float64)) 45 }}
{{- end }}
