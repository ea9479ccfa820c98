import { useAgents } from "../api/agents.ts";
import { Picker } from "./picker.tsx";

interface AgentPickerProps {
  readonly value: string | null | undefined;
  /** Empty where the choice is taken back. */
  onChange(agentId: string): void;
  /** Whether no agent may be chosen too, which is any of them. */
  readonly optional?: boolean;
}

/** A choice of an agent, by its name. */
export function AgentPicker({ value, onChange, optional = false }: AgentPickerProps) {
  const { data } = useAgents();
  return (
    <Picker
      label="Agent"
      value={value ?? null}
      onChange={(chosen) => onChange(chosen ?? "")}
      choices={(data?.agents ?? []).map(({ id, name }) => ({ value: id, label: name }))}
      {...(optional && { placeholder: "Any", clearable: true })}
    />
  );
}
