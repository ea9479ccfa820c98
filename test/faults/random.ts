/** Numbers that look random, and are the same for the same seed and the same questions. */
export class Random {
  #state: number;

  /** Different names of one seed give sequences that have nothing to do with each other. */
  constructor(seed: number, name: string) {
    // FNV-1a over both: neighbouring seeds must not give neighbouring sequences.
    let hash = 0x811c9dc5;
    for (const character of `${seed}/${name}`) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
    this.#state = hash >>> 0;
  }

  /** From 0 up to, not including, 1 (the generator "mulberry32"). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.next() * list.length)] as T;
  }

  /** One of the names, each as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return entries.at(-1)![0];
  }
}
