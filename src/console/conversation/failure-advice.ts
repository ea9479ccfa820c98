/** What a person can do about a failed turn: in words, and where. */
export interface Advice {
  readonly text: string;
  readonly link?: { readonly to: string; readonly title: string };
}

/** What is known of a failure. */
export interface KnownFailure {
  readonly code: string;
  readonly agentId: string;
  readonly budgetId?: string | undefined;
  readonly vendor?:
    | {
        readonly providerId: string;
        readonly status: number | null;
        readonly code: string | null;
        readonly message: string;
      }
    | undefined;
}

const tooLong =
  /context.?(length|window)|maximum context|prompt is too long|too many (input )?tokens|reduce the length/i;
const noCredit = /insufficient_quota|exceeded your current quota|billing|credit balance/i;

/** Says what to do about a failure; null where nothing is known that helps. */
export function adviceOn({ code, agentId, budgetId, vendor }: KnownFailure): Advice | null {
  const agent = { to: `/agents/${agentId}`, title: "Agent's settings" };
  switch (code) {
    case "budget_exceeded":
      return {
        text: "A budget is used up. Raise it, or wait until its period ends.",
        link: { to: budgetId === undefined ? "/budgets" : `/budgets/${budgetId}`, title: "Open the budget" },
      };
    case "turn_limit_reached":
      return { text: "The turn came to a limit that the agent has for each turn.", link: agent };
    case "usage_credit_required":
      return { text: "The user has no credit left.", link: { to: "/billing", title: "Billing" } };
    case "provider_required":
      return { text: "The agent has no provider and model to run on.", link: agent };
    case "provider_error":
      return vendor === undefined ? null : adviceOnVendor(vendor, agent);
    default:
      return null;
  }
}

function adviceOnVendor(
  { providerId, status, code, message }: NonNullable<KnownFailure["vendor"]>,
  agent: NonNullable<Advice["link"]>,
): Advice | null {
  const provider = { to: `/providers/${providerId}`, title: "Open the provider" };
  const said = `${code ?? ""} ${message}`;
  if (tooLong.test(said))
    return {
      text: "The conversation is longer than the model takes. Turn “Summarise long transcripts” on, or begin a new session.",
      link: agent,
    };
  if (noCredit.test(said)) return { text: "Your account at the vendor has no credit left.", link: provider };
  if (status === 401 || status === 403)
    return { text: "The vendor refused the key. Add a provider with one that is valid.", link: provider };
  if (status === 404) return { text: "The vendor does not know this model. Choose another one.", link: agent };
  if (status === 429)
    return {
      text: "The vendor takes no more for now. Run it again later, or give the agent a fallback model.",
      link: agent,
    };
  if (status === null)
    return { text: "Nothing answers at the provider's address: it may be wrong, or away for now.", link: provider };
  if (status >= 500)
    return {
      text: "The fault is the vendor's. Run it again later, or give the agent a fallback model.",
      link: agent,
    };
  return null;
}
