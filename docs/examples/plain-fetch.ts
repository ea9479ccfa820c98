/** A turn without any library: `fetch`, and the lines of a server-sent event stream. */
const { PARLEY_URL = "http://127.0.0.1:8080", PARLEY_API_KEY = "", AGENT_ID = "" } = process.env;

const response = await fetch(`${PARLEY_URL}/v1/agents/${AGENT_ID}/sessions`, {
  method: "POST",
  headers: { Authorization: `Bearer ${PARLEY_API_KEY}`, "Content-Type": "application/json" },
  body: JSON.stringify({ message: { id: "m1", role: "user", parts: [{ type: "text", text: "Say hello." }] } }),
});
if (response.body === null || !response.ok) throw new Error(await response.text());
process.stdout.write(`Session ${response.headers.get("Location")}\n`);

let rest = "";
for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
  // An event ends with an empty line, and may come in pieces.
  const events = (rest + bytes).split("\n\n");
  rest = events.pop() ?? "";
  for (const event of events) {
    const data = /^data: (.*)$/m.exec(event)?.[1];
    if (data === undefined || data === "[DONE]") continue;
    const chunk = JSON.parse(data);
    if (chunk.type === "text-delta") process.stdout.write(chunk.delta);
  }
}
process.stdout.write("\n");

export {};
