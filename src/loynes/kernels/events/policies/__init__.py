"""Policies: one file each, which registers itself; `register` finds them, and those that users bring."""

from loynes.kernels.events.policies.register import Option, Policy, find_policy, policies, policy

__all__ = ["Option", "Policy", "find_policy", "policies", "policy"]
