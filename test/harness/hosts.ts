/**
 * Hosts on one machine: network namespaces on a bridge where the system lets us make
 * them (root, `ip`), else addresses of the loopback range. The tests' own machine is the
 * gateway between them: what all share (the stores, the model, the links) is there.
 */
import { execFileSync } from "node:child_process";
import type { Command } from "./runtimes.ts";

/** One host. */
export interface Host {
  readonly name: string;
  readonly address: string;
  /** What starts a program on this host. */
  command(command: Command): Command;
  /** Its cable is pulled: what is under way to it or from it is lost, and nobody is told. Namespaces only. */
  unplug(): void;
  plugIn(): void;
}

/** Hosts that reach one another. */
export interface Hosts extends AsyncDisposable {
  readonly kind: "network namespaces" | "loopback addresses";
  /** The address of the tests' own machine, as hosts reach it. */
  readonly gateway: string;
  add(name: string): Host;
}

/** Makes a network without hosts yet. */
export function openHosts(): Hosts {
  // Several runs on one machine do not meet: an address has 15 bits of chance.
  const [high, low] = [100 + Math.floor(Math.random() * 128), Math.floor(Math.random() * 256)];
  const bridge = `parley${high}x${low}`;
  const network = `10.${high}.${low}`;
  try {
    ip(`link add ${bridge} type bridge`);
    ip(`addr add ${network}.1/24 dev ${bridge}`);
    ip(`link set ${bridge} up`);
    ip(`netns add ${bridge}-try`);
    ip(`netns del ${bridge}-try`);
  } catch {
    run("ip", ["link", "del", bridge]);
    return loopbackHosts(low);
  }
  const hosts: Namespace[] = [];
  return {
    kind: "network namespaces",
    gateway: `${network}.1`,
    add: (name) => {
      const host = new Namespace(name, { bridge, network, number: hosts.length + 2 });
      hosts.push(host);
      return host;
    },
    [Symbol.asyncDispose]: async () => {
      for (const host of hosts) host.remove();
      run("ip", ["link", "del", bridge]);
    },
  };
}

class Namespace implements Host {
  readonly name: string;
  readonly address: string;
  readonly #space: string;
  /** The bridge's end of its cable. */
  readonly #cable: string;

  constructor(
    name: string,
    { bridge, network, number }: { readonly bridge: string; readonly network: string; readonly number: number },
  ) {
    this.name = name;
    this.address = `${network}.${number}`;
    this.#space = `${bridge}-${number}`;
    this.#cable = `${bridge}v${number}`.replace("parley", "p");
    ip(`netns add ${this.#space}`);
    ip(`link add ${this.#cable} type veth peer name eth0 netns ${this.#space}`);
    ip(`link set ${this.#cable} master ${bridge}`);
    ip(`link set ${this.#cable} up`);
    ip(`-n ${this.#space} addr add ${this.address}/24 dev eth0`);
    ip(`-n ${this.#space} link set eth0 up`);
    ip(`-n ${this.#space} link set lo up`);
    ip(`-n ${this.#space} route add default via ${network}.1`);
  }

  command({ program, words }: Command): Command {
    return { program: "ip", words: ["netns", "exec", this.#space, program, ...words] };
  }

  unplug(): void {
    ip(`link set ${this.#cable} down`);
  }

  plugIn(): void {
    ip(`link set ${this.#cable} up`);
  }

  remove(): void {
    run("ip", ["netns", "del", this.#space]);
  }
}

function loopbackHosts(network: number): Hosts {
  let number = 1;
  const without = () => {
    throw new Error("A host can only be unplugged where the system allows network namespaces.");
  };
  return {
    kind: "loopback addresses",
    gateway: "127.0.0.1",
    add: (name) => ({
      name,
      address: `127.77.${network}.${++number}`,
      command: (command) => command,
      unplug: without,
      plugIn: without,
    }),
    [Symbol.asyncDispose]: async () => {},
  };
}

function ip(words: string): void {
  execFileSync("ip", words.split(" "), { stdio: "ignore" });
}

/** Does what may be done already. */
function run(program: string, words: readonly string[]): void {
  try {
    execFileSync(program, words, { stdio: "ignore" });
  } catch {
    // Then there is nothing to undo.
  }
}
