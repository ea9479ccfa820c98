import { describe, expect, test } from "bun:test";
import type { ChatConnection } from "parley/client";
import {
  chatOfForm,
  formOfChat,
  healthCheckText,
  idsInText,
  needsRepair,
  platformText,
  repairText,
} from "../../src/console/chat/chat-words.ts";

const slack = {
  name: "S",
  platform: "chat_a",
  configuration: { platform: "chat_a", channelIds: ["C1", "C2"], approverIds: ["U1"] },
} as ChatConnection;
const telegram = {
  name: "T",
  platform: "chat_b",
  configuration: { platform: "chat_b", chatIds: ["77"], businessMode: true },
} as ChatConnection;

describe("a chat connection's form", () => {
  test("holds the fields of its platform, and gives them back", () => {
    expect(chatOfForm(formOfChat(slack), "chat_a")).toEqual({ name: "S", configuration: slack.configuration });
    expect(chatOfForm(formOfChat(telegram), "chat_b")).toEqual({
      name: "T",
      configuration: { ...telegram.configuration, approverIds: [] },
    });
  });

  test("takes ids one a line, or with commas or spaces between them", () => {
    expect(idsInText(" C1,\nC2  C3,,\n")).toEqual(["C1", "C2", "C3"]);
    expect(idsInText("")).toEqual([]);
  });
});

describe("the words of chat", () => {
  test("name platforms and checks", () => {
    expect(["chat_a", "chat_b", "chat_z"].map(platformText)).toEqual(["Slack", "Telegram", "chat_z"]);
    expect(healthCheckText({ code: "channel_membership", status: "fail", subject: "C1" })).toBe("The bot is in C1");
    expect(healthCheckText({ code: "webhook_url", status: "pass" })).toBe("The platform calls this service");
  });

  test("say what is known of a delivery that needs a person", () => {
    const status = (word: "pending" | "confirmed" | "failed" | "ambiguous") => needsRepair({ status: word });
    expect([status("pending"), status("confirmed"), status("failed"), status("ambiguous")]).toEqual([
      false,
      false,
      true,
      true,
    ]);
    const receipts = [{ attempt: 0, messageId: "1" }];
    expect(repairText({ status: "ambiguous", receipts })).toContain("1 message of it is posted");
    expect(repairText({ status: "ambiguous", receipts: [] })).toContain("twice");
    expect(repairText({ status: "failed", receipts: [] })).toBe("It was refused, and its next message was not posted.");
  });
});
