import { createServer } from "node:net";

/** Below the ports that the system gives by itself, from 32768 on; so is that of a cluster's bus, which is 10,000 higher. */
const portsFrom = 10_000;
const portsUntil = 22_000;
const portsGiven = new Set<number>();

/** A TCP port that is free, and is given to nothing that leaves the choice to the system. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = portsFrom + Math.floor(Math.random() * (portsUntil - portsFrom));
    if (portsGiven.has(port) || !(await isFree(port))) continue;
    portsGiven.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
