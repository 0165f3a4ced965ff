// Addresses are relative, so that the page works behind a proxy's prefix. No validator: it is somebody else's host.
window.ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#page",
  validatorUrl: null,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
});
