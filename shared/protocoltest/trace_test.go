package protocoltest

import (
	"fmt"
	"strings"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/table"
)

// shownItem is an item in a trace.
func shownItem(it *table.Item) string {
	if it == nil {
		return "none"
	}
	switch it.Type {
	case "Head":
		h, err := head.Decode(it)
		if err != nil {
			return err.Error()
		}
		text := fmt.Sprintf("v%d r%d", h.Version, h.Revision)
		for _, e := range h.Flux {
			if !isFiller(e.Name) {
				text += fmt.Sprintf(" %x@%d", e.Name>>48, e.Revision)
			}
		}
		if h.All.Revision > 0 {
			text += fmt.Sprintf(" *@%d", h.All.Revision)
		}
		return text
	case "Access":
		v, err := access.Parse(it.Blob)
		if err != nil {
			return err.Error()
		}
		as, err := v.Assignments()
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("v%d r%d %v", it.Version, v.Revision(), as)
	case "Permission", "Role", "Policy":
		return fmt.Sprintf("v%d %s", it.Version, strings.ReplaceAll(string(it.Body), `"`, ""))
	}
	return fmt.Sprintf("v%d", it.Version)
}

func shownOp(op table.Op) string {
	condition := ""
	switch op.If.Kind {
	case table.IsAbsent:
		condition = " if absent"
	case table.IsPresent:
		condition = " if present"
	case table.HasVersion:
		condition = fmt.Sprintf(" if v%d", op.If.Version)
	case table.Unconditional:
	}
	switch op.Action {
	case table.ActionPut:
		return fmt.Sprintf("[%s=%s%s]", short(op.Key), shownItem(op.Item), condition)
	case table.ActionDelete:
		return fmt.Sprintf("[delete %s%s]", short(op.Key), condition)
	case table.ActionCheck:
		return fmt.Sprintf("[check %s%s]", short(op.Key), condition)
	}
	return ""
}
