package commands

import (
	"encoding/json"
	"slices"

	"maestro/events"
	"maestro/internal/safetext"
)

// taskFields are the fields that the creation and the update of a task check in the same way; nil is absent.
type taskFields struct {
	title, description *string
	criteria           *[]string
	priority           *string
	skills, agents     *[]string
	model              *string
	metadata           json.RawMessage
}

func (f taskFields) valid() error {
	if f.title != nil {
		if err := ValidLine("/title", *f.title, maxTitle); err != nil {
			return err
		}
	}
	if f.description != nil {
		if err := ValidText("/description", *f.description); err != nil {
			return err
		}
	}
	if f.criteria != nil {
		if err := validTexts("/acceptanceCriteria", *f.criteria); err != nil {
			return err
		}
	}
	if f.priority != nil && !slices.Contains(events.Priorities(), *f.priority) {
		return invalid(
			"/priority", "'%s' is not a priority; it is "+events.AnyPriority, safetext.Printable(*f.priority),
		)
	}
	for pointer, ids := range map[string]*[]string{"/skillIds": f.skills, "/agentIds": f.agents} {
		if ids == nil {
			continue
		}
		if err := validTexts(pointer, *ids); err != nil {
			return err
		}
	}
	if f.model != nil {
		if err := ValidLine("/model", *f.model, MaxName); err != nil {
			return err
		}
	}
	return validObject("/metadata", f.metadata)
}

func validTexts(pointer string, texts []string) error {
	if len(texts) > maxList {
		return invalid(pointer, "at most %d entries, these are %d", maxList, len(texts))
	}
	for _, text := range texts {
		if err := ValidText(pointer, text); err != nil {
			return err
		}
		if len(text) > events.MaxText {
			return invalid(pointer, "an entry has at most %d bytes, this has %d", events.MaxText, len(text))
		}
	}
	return nil
}
