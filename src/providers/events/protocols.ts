import type { ProviderType } from "../../kernel/config.ts";
import { AnthropicEvents } from "./anthropic-events.ts";
import { ChatEvents } from "./chat-events.ts";
import type { EventReader } from "./event-reader.ts";
import { GatewayEvents } from "./gateway-events.ts";
import { GoogleEvents } from "./google-events.ts";
import { ResponsesEvents } from "./responses-events.ts";

/** Returns what reads the events of an answer that was asked for at this address. */
export function eventReader(providerType: ProviderType, url: string): EventReader {
  switch (providerType) {
    case "llm_vendor_a":
      return new URL(url).pathname.endsWith("/responses") ? new ResponsesEvents() : new ChatEvents();
    case "llm_vendor_b":
      return new AnthropicEvents();
    case "llm_vendor_c":
      return new GoogleEvents();
    case "gateway":
      return new GatewayEvents();
    case "router_vendor":
    case "custom":
      return new ChatEvents();
  }
}
