import { Component, type ReactNode } from "react";
import { Button } from "../parts/button.tsx";

interface BoundaryProps {
  /** A new address tries again. */
  readonly address?: string;
  readonly children: ReactNode;
}

/** Stands where a screen broke: the rest of the page goes on. */
export class ErrorBoundary extends Component<BoundaryProps, { readonly error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override componentDidUpdate({ address }: BoundaryProps): void {
    if (address !== this.props.address && this.state.error !== null) this.setState({ error: null });
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div className="failure" role="alert">
        <p>This page broke: {error.message}</p>
        {/* A screen of an older build is gone from the server; the page itself knows the new ones. */}
        <Button onClick={() => window.location.reload()}>Reload</Button>
      </div>
    );
  }
}
