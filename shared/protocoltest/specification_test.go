package protocoltest

import (
	"slices"
	"strings"
	"testing"
)

// specified are the mutations of the protocol's executable specification, and
// what catches each of them here: a mutation of the same name unless another is
// said. Those in parentheses do not apply.
var specified = map[string]string{
	"head_unconditioned":  "",
	"head_read_late":      "",
	"validate_torn":       "",
	"no_entry_unheld":     "",
	"no_entry_permission": "",
	"no_entry_delete":     "",
	"no_entry_recreate":   "(redundant: incarnations keep a new life of an id apart)",
	"collapse_drops":      "",
	"collapse_low":        "",

	"compute_plain":      "",
	"compute_plain_head": "(redundant: what is cached under an older HEAD is stale by flux)",
	"pieces_differ":      "",
	"cache_any_revision": "",

	"stale_ignored":        "",
	"names_direct":         "",
	"names_no_permissions": "",
	"names_no_empty":       "",
	"names_no_mapping":     "(no group mappings yet)",
	"live_other_revision":  "",

	"strong_plain":      "",
	"cache_long":        "",
	"pair_unbounded":    "",
	"token_no_version":  "",
	"token_no_revision": "",

	"policy_doc_unconditioned":  "",
	"projector_unconditioned":   "",
	"document_read_late":        "(the fan-out reads document and definitions in one snapshot)",
	"projector_creates":         "(the fan-out writes from documents only; the specification's own schedules don't miss it)",
	"no_document_tombstone":     "",
	"no_incarnation_assignment": "",
	"no_incarnation_reference":  "(redundant: what is referred to can't be deleted)",

	"no_fence":        "",
	"fence_read_late": "",
	"fence_some":      "prune_no_fences",
	"sod_no_fence":    "(no constraints yet)",
	"sod_no_minute":   "(no constraints yet)",
	"sod_any_version": "(no constraints yet)",

	"prune_no_first_pass":    "(margin: the specification's own schedules don't miss it)",
	"prune_no_fences":        "",
	"prune_no_minute":        "",
	"prune_no_second_pass":   "",
	"prune_no_settle":        "",
	"prune_changed":          "",
	"prune_no_age":           "(margin: the specification's own schedules don't miss it)",
	"prune_no_age_no_settle": "prune_no_settle",

	"lost_is_failure": "",
	"lost_by_item":    "",
}

// TestSpecification: every mutation of the specification is caught here by name,
// or says why it is not; and what is no mutation of the specification is one of ours.
func TestSpecification(t *testing.T) {
	var here []string
	for _, m := range portMutations {
		here = append(here, m.name)
	}
	for _, m := range sourceMutations {
		here = append(here, m.name)
	}
	for name, by := range specified {
		if by == "" {
			by = name
		}
		if !strings.HasPrefix(by, "(") && !slices.Contains(here, by) {
			t.Errorf("%s: nothing here is called %s", name, by)
		}
	}
	for i, name := range here {
		if slices.Contains(here[:i], name) {
			t.Errorf("two mutations are called %s", name)
		}
	}
}
