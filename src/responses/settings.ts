import { loadAgentForTurn } from "../agents/load.ts";
import type { Ctx } from "../kernel/context.ts";
import { invalid, invalidAll } from "../kernel/errors.ts";
import { thinkingLevels } from "../providers/catalog.ts";
import { type ModelSettings, settingIssues, settingsWith } from "../providers/model-settings.ts";
import type { ResponseRequest } from "./asked.ts";
import type { AskedOptions } from "./options.ts";
import type { Previous } from "./previous.ts";

/** The settings as the protocol names them. */
const names: Readonly<Record<keyof ModelSettings, string>> = {
  temperature: "temperature",
  topP: "top_p",
  maxOutputTokens: "max_output_tokens",
  stopSequences: "stop",
  seed: "seed",
};

/**
 * Throws 400 for a setting of a request, or a thinking level, that the agent's own model is known not to take. The agent is read for that only where a
 * request sets something; one that cannot be read, or not run, is refused by what accepts the turn.
 */
export async function checkSettings(
  { sql, config }: Ctx,
  { principal, body }: ResponseRequest,
  { settings: asked, thinkingLevel: level }: Pick<AskedOptions, "settings" | "thinkingLevel">,
  previous: Previous | null,
): Promise<void> {
  if (Object.keys(asked).length === 0 && level === null) return;
  if (principal.agentIds !== null && !principal.agentIds.includes(body.model)) return;
  const agent = await loadAgentForTurn(sql, principal.tenant.id, body.model, previous?.pinnedVersion ?? null);
  const { model = null, thinkingLevel = null, modelSettings: own = {} } = agent?.config ?? {};
  const provider = agent?.provider ?? config.platformProvider;
  if (agent === null || agent.providerMissing || model === null || provider === null) return;
  const { providerType, baseUrl } = provider;
  const { known, levels } = thinkingLevels(providerType, model);
  if (level !== null && known && !levels.includes(level))
    throw invalid(
      "/reasoning/effort",
      levels.length === 0
        ? "is not taken by the agent's model"
        : `must be one of ${levels.join(", ")} for the agent's model`,
    );
  const target = { providerType, baseUrl, model, thinkingLevel: level ?? thinkingLevel };
  const issues = settingIssues(target, settingsWith(target, own, asked)).filter(({ setting }) => setting in asked);
  if (issues.length > 0)
    throw invalidAll(issues.map(({ setting, message }) => ({ path: `/${names[setting]}`, message })));
}
