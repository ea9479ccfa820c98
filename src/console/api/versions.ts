/** The numbers of drafts begin here, as the service counts them. */
const firstDraft = 1_000_000_001;

/** Whether a version of an agent is a draft: one that the agent does not have. */
export function isDraft(version: number): boolean {
  return version >= firstDraft;
}

/** What a version is called: its number, and of a draft its place among the drafts. */
export function versionText(version: number): string {
  return isDraft(version) ? `draft ${version - firstDraft + 1}` : String(version);
}
