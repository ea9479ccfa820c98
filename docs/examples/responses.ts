/** An agent through OpenAI's own client: a stream, a function, what comes after. `npm start` prints the address, the key and the agent. */
import OpenAI from "openai";

const { PARLEY_URL = "http://127.0.0.1:8080", PARLEY_API_KEY = "", AGENT_ID = "" } = process.env;
const openai = new OpenAI({ baseURL: `${PARLEY_URL}/v1`, apiKey: PARLEY_API_KEY });

const stream = openai.responses.stream({ model: AGENT_ID, input: "Say hello." });
for await (const event of stream) if (event.type === "response.output_text.delta") process.stdout.write(event.delta);
process.stdout.write("\n");
const greeting = await stream.finalResponse();

// The simulated model calls a function when a message tells it to; a real one decides by itself.
const asked = await openai.responses.create({
  model: AGENT_ID,
  previous_response_id: greeting.id,
  input: '[[sim: tool=get_weather args={"city":"Lisbon"} ; text="It is sunny in Lisbon."]]',
  tools: [
    {
      type: "function",
      name: "get_weather",
      description: "The weather in a city.",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      strict: false,
    },
  ],
});
const outputs = asked.output.flatMap((item) =>
  item.type === "function_call"
    ? [{ type: "function_call_output" as const, call_id: item.call_id, output: weatherIn(JSON.parse(item.arguments)) }]
    : [],
);
const answer = await openai.responses.create({ model: AGENT_ID, previous_response_id: asked.id, input: outputs });
process.stdout.write(`${answer.output_text}\n`);

function weatherIn({ city }: { city: string }): string {
  return `Sunny and 21 degrees in ${city}.`;
}
