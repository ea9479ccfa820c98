/**
 * An agent through OpenAI's own client: a stream, then a function that this program runs. `npm start` prints the address, the
 * key and the agent.
 */
import OpenAI from "openai";

const { PARLEY_URL = "http://127.0.0.1:8080", PARLEY_API_KEY = "", AGENT_ID = "" } = process.env;
const openai = new OpenAI({ baseURL: `${PARLEY_URL}/v1`, apiKey: PARLEY_API_KEY });

const stream = openai.responses.stream({ model: AGENT_ID, input: "Say hello." });
for await (const event of stream) if (event.type === "response.output_text.delta") process.stdout.write(event.delta);
process.stdout.write("\n");
const greeting = await stream.finalResponse();

const tools: OpenAI.Responses.FunctionTool[] = [
  {
    type: "function",
    name: "get_weather",
    description: "The weather in a city.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    strict: false,
  },
];
// The simulated model calls a function when a message tells it to; a real one decides by itself.
const question = '[[sim: tool=get_weather args={"city":"Lisbon"} ; text="It is sunny in Lisbon."]]';
let answer = await openai.responses.create({
  model: AGENT_ID,
  previous_response_id: greeting.id,
  input: question,
  tools,
});
for (let input = answersTo(answer); input.length > 0; input = answersTo(answer))
  answer = await openai.responses.create({ model: AGENT_ID, previous_response_id: answer.id, input, tools });
process.stdout.write(`${answer.output_text}\n`);

/** What a response waits for: outputs of its functions, and a decision where the agent's policy asks for one. */
function answersTo({ output }: OpenAI.Responses.Response): OpenAI.Responses.ResponseInput {
  return output.flatMap((item): OpenAI.Responses.ResponseInput => {
    if (item.type === "function_call")
      return [{ type: "function_call_output", call_id: item.call_id, output: weatherIn(JSON.parse(item.arguments)) }];
    if (item.type === "mcp_approval_request")
      return [{ type: "mcp_approval_response", approval_request_id: item.id, approve: true }];
    return [];
  });
}

function weatherIn({ city }: { readonly city: string }): string {
  return `Sunny and 21 degrees in ${city}.`;
}
