interface Unprovoked {
  readonly op: string;
  readonly row: string;
  readonly why: string;
  /** Somebody can meet it, who does not come by an API key: the document has it. */
  readonly isDocumented?: true;
}

/** Errors of the table that no test of this folder can bring about, each with its reason. */
export const unprovoked: readonly Unprovoked[] = [
  {
    op: "DELETE /v1/sandboxes/:sandboxId",
    row: "409 workspace_delete_conflict | 409 SANDBOX_DELETE_CONFLICT",
    why: "A sandbox that is being deleted gets the same 202 again, so nothing conflicts.",
  },
  ...["PATCH /v1/members/:memberId", "DELETE /v1/members/:memberId"].map((op) => ({
    op,
    row: "409 last_admin",
    why: "Only a member who is signed in to the console meets it: test/members/members.test.ts.",
    isDocumented: true as const,
  })),
];
