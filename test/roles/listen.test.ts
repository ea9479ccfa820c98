import { expect, test } from "bun:test";
import { listen } from "../../src/kernel/runtime.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { takePort } from "../../src/roles/http.ts";

test("a port that another Parley listens on is taken", async () => {
  const first = listen({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("first") });
  try {
    const second = takePort({ host: "127.0.0.1", port: first.port, publicUrl: null }, createLogger("silent"));
    await expect(second).rejects.toThrow(
      `Port ${first.port} on 127.0.0.1 is taken. Set PORT to another one, or to 0 for a free one.`,
    );
  } finally {
    await first.stop(true);
  }
});
