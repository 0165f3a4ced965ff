// OpenAI's client and the AI SDK: prints what each way to ask for structure gives, as one JSON object.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, streamText, tool } from "ai";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

const [baseURL, apiKey, model] = process.argv.slice(2);
const City = z.object({ name: z.string().max(12), population: z.number().int().min(0).max(99999999) });
const prompt = "Name a large city: name, population.";
const messages = [{ role: "user", content: prompt }];
const found = {};

const client = new OpenAI({ baseURL, apiKey });
const parsed = await client.chat.completions.parse({
  model,
  messages,
  response_format: zodResponseFormat(City, "city"),
});
found.parse = parsed.choices[0].message.parsed;

const chunks = await client.chat.completions.create({ model, messages, stream: true, max_tokens: 8, stop: null });
found.stream = "";
for await (const chunk of chunks) found.stream += chunk.choices[0]?.delta?.content ?? "";

const openai = createOpenAI({ baseURL, apiKey });
found.chat = (await generateObject({ model: openai.chat(model), schema: City, prompt })).object;

found.responses = (await generateObject({ model: openai(model), schema: City, prompt })).object;

const compatible = createOpenAICompatible({ name: "swyb", baseURL, apiKey, supportsStructuredOutputs: true });
found.object = (await generateObject({ model: compatible(model), schema: City, prompt })).object;
found.text = (await generateText({ model: compatible(model), prompt })).text;
found.streamed = "";
for await (const piece of streamText({ model: compatible(model), prompt }).textStream) found.streamed += piece;

const tools = { city: tool({ description: "A large city", inputSchema: City }) };
for (const [way, called] of [["tools", openai.chat(model)], ["toolsOfResponses", openai(model)]]) {
  const { toolCalls } = await generateText({ model: called, tools, toolChoice: "required", prompt, maxOutputTokens: 96 });
  found[way] = toolCalls[0].input;
}

console.log(JSON.stringify(found));
