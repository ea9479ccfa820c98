interface Decided {
  readonly approval?: { readonly id: string };
  readonly state?: string;
}

/** Returns a message as a stream makes it anew, which does not say what people decided. */
export function undecided<M extends { readonly parts: readonly unknown[] }>(message: M): M {
  const parts = message.parts.map((part) => {
    const { approval, ...rest } = part as Decided;
    if (approval === undefined) return part;
    const { approved, id } = approval as { readonly approved?: boolean; readonly id: string };
    const isOpen = rest.state === "approval-responded";
    if (approved === true) return isOpen ? { ...rest, state: "input-available" } : rest;
    return { ...rest, ...(isOpen ? { state: "output-denied" } : {}), approval: { id } };
  });
  return { ...message, parts };
}
