/** The errors of accepting a turn, whatever protocol it comes by, beyond those that every operation has. */
export const acceptErrors = [
  "invalid_request",
  "provider_required",
  "usage_credit_required",
  "merchant_subscription_required",
  "merchant_balance_required",
  "merchant_customer_unmapped",
  "merchant_eligibility_unavailable",
  "not_found",
  "provider_missing_for_turn",
  "version_missing_for_run",
  "sandbox_required_for_turn",
  "agent_disabled",
  "tenant_deleting",
  "quota_exceeded",
  "too_many_turns",
  "idempotency_key_reused",
] as const;
