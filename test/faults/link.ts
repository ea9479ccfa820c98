import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * A stretch of network between two programs: a TCP proxy on this machine that can
 * be disturbed. `drop`: what is open breaks, new connections pass. `cut`: what is
 * open breaks, and new connections break at once, until `heal`. `stall`: nothing
 * passes in either direction and neither side is notified, until `heal`. `lose`: nothing
 * ever passes again on what is open, and neither side is notified; new connections pass.
 */
export interface Link extends AsyncDisposable {
  /** Where it is reached on 127.0.0.1. */
  readonly port: number;
  /** Connections that are open now. */
  readonly open: number;
  drop(): void;
  cut(): void;
  stall(): void;
  lose(): void;
  heal(): void;
}

export type Disturbance = "drop" | "cut" | "stall";
export const disturbances: readonly Disturbance[] = ["drop", "cut", "stall"];

/** Opens a link to a port of this machine. */
export async function openLink(targetPort: number): Promise<Link> {
  const pairs = new Set<Pair>();
  let state: "whole" | "cut" | "stalled" = "whole";
  const server = createServer({ allowHalfOpen: true }, (near) => {
    near.on("error", () => {});
    if (state === "cut") {
      near.resetAndDestroy();
      return;
    }
    const pair = new Pair(near, targetPort, () => pairs.delete(pair));
    pairs.add(pair);
    if (state === "whole") pair.flow();
  });
  await listen(server);
  const breakAll = () => {
    for (const pair of [...pairs]) pair.break();
  };
  return {
    port: (server.address() as { port: number }).port,
    get open() {
      return pairs.size;
    },
    drop: breakAll,
    cut: () => {
      state = "cut";
      breakAll();
    },
    stall: () => {
      state = "stalled";
      for (const pair of pairs) pair.hold();
    },
    lose: () => {
      for (const pair of pairs) pair.lose();
    },
    heal: () => {
      state = "whole";
      for (const pair of pairs) pair.flow();
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      breakAll();
      await closed;
    },
  };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
}

/** One connection through a link. */
class Pair {
  readonly #near: Socket;
  readonly #targetPort: number;
  readonly #forget: () => void;
  #far: Socket | null = null;
  #held = true;
  #lost = false;
  /** An end that was seen while nothing passed; it is passed on later. */
  #brokenMeanwhile = false;

  constructor(near: Socket, targetPort: number, forget: () => void) {
    this.#near = near;
    this.#targetPort = targetPort;
    this.#forget = forget;
    near.pause();
    this.#watch(near);
  }

  /** Lets everything pass from now on, what was held back first. */
  flow(): void {
    if (!this.#held || this.#lost) return;
    this.#held = false;
    if (this.#brokenMeanwhile) {
      this.break();
      return;
    }
    if (this.#far === null) {
      this.#far = connect({ port: this.#targetPort, host: "127.0.0.1", allowHalfOpen: true });
      this.#watch(this.#far);
    }
    this.#near.pipe(this.#far);
    this.#far.pipe(this.#near);
  }

  /** Lets nothing pass, without closing either side. */
  hold(): void {
    this.#held = true;
    for (const [from, to] of [
      [this.#near, this.#far],
      [this.#far, this.#near],
    ]) {
      if (from === null || from === undefined || to === null || to === undefined) continue;
      from.unpipe(to);
      from.pause();
    }
  }

  /** Holds back for good, as when the host at the other end is gone. */
  lose(): void {
    this.hold();
    this.#lost = true;
  }

  break(): void {
    this.#forget();
    for (const socket of [this.#near, this.#far]) if (socket !== null && !socket.destroyed) socket.resetAndDestroy();
  }

  #watch(socket: Socket): void {
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => {
      if (this.#held) this.#brokenMeanwhile = true;
      else this.break();
    });
  }
}
