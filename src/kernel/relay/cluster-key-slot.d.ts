declare module "cluster-key-slot" {
  /** Returns the slot of a key: of its hash tag, where it has one. */
  export default function calculateSlot(key: string): number;
}
