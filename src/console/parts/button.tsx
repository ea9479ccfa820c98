import type { ComponentProps, ReactNode } from "react";
import { Link } from "wouter";
import { Icon, type IconName } from "./icon.tsx";

/** How much a button asks for: one `primary` a screen, `danger` for what cannot be undone, `quiet` beside text. */
export type ButtonTone = "primary" | "plain" | "danger" | "quiet";

interface ButtonProps extends Omit<ComponentProps<"button">, "className" | "type"> {
  readonly tone?: ButtonTone;
  readonly icon?: IconName;
  readonly type?: "button" | "submit";
}

/** A button; its text is its accessible name. */
export function Button({ tone = "plain", icon, type = "button", children, ...rest }: ButtonProps) {
  return (
    <button {...rest} type={type} className={`button ${tone}`}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button that shows an icon only; `label` is its accessible name. */
export function IconButton({
  label,
  icon,
  ...rest
}: Omit<ButtonProps, "children"> & { label: string; icon: IconName }) {
  const { tone = "quiet", ...props } = rest;
  return (
    <button {...props} type="button" className={`button ${tone} only-icon`} aria-label={label} title={label}>
      <Icon name={icon} />
    </button>
  );
}

/** A link that looks like a button. */
export function ButtonLink({ to, tone = "plain", children }: { to: string; tone?: ButtonTone; children: ReactNode }) {
  return (
    <Link href={to} className={`button ${tone}`}>
      {children}
    </Link>
  );
}
