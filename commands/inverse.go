package commands

import (
	"fmt"
	"sync"

	"maestro/events"
)

// maker links a command to the event that it becomes.
type maker struct {
	// event is the type of the event.
	event string
	// empty returns a command without fields.
	empty func() Command
	// from returns the command that became an event of this type, or false if another command did.
	from func(e *events.Event) (Command, bool)
}

// makerOf links a command to its event: from reconstructs the command from the event, and returns false if another
// command became the event.
func makerOf[C, E any, PC interface {
	*C
	Command
}, PE interface {
	*E
	events.Data
}](from func(PC, *events.Event, PE) bool) *maker {
	return makerOfKind(PC(new(C)), from)
}

// makerOfKind is makerOf for a command that shares its type with others: kind is the command with no other field set.
func makerOfKind[C, E any, PC interface {
	*C
	Command
}, PE interface {
	*E
	events.Data
}](kind PC, from func(PC, *events.Event, PE) bool) *maker {
	empty := func() PC {
		command := *kind
		return &command
	}
	return &maker{
		event: PE(new(E)).EventType(),
		empty: func() Command { return empty() },
		from: func(e *events.Event) (Command, bool) {
			command := empty()
			return command, from(command, e, e.Data.(PE))
		},
	}
}

// makers are those of the current rows, by command.
var makers = sync.OnceValue(func() map[string]*maker {
	byID := make(map[string]*maker, len(rows()))
	for _, row := range rows() {
		if row.makes != nil && row.Alias == "" {
			byID[row.ID] = row.makes
		}
	}
	return byID
})

// makersOf are the same by event type, in the table's order.
var makersOf = sync.OnceValue(func() map[string][]*maker {
	byEvent := map[string][]*maker{}
	for _, row := range rows() {
		if row.makes != nil && row.Alias == "" {
			byEvent[row.makes.event] = append(byEvent[row.makes.event], row.makes)
		}
	}
	return byEvent
})

// CommandOf returns the command that became an event: decided again on the state before the event, it yields the
// event's data. The audit uses it to show that each event was permitted.
func CommandOf(e *events.Event) (Command, error) {
	for _, m := range makersOf()[e.Data.EventType()] {
		if command, ok := m.from(e); ok {
			return command, nil
		}
	}
	return nil, fmt.Errorf("no command becomes this %s", e.Data.EventType())
}

// inProject names the project of an event, as its command did.
func inProject(e *events.Event) ProjectRef { return ProjectRef{Project: e.Project} }

func listOfPermissions(p events.Permissions) *[]string {
	if !p.Explicit {
		return nil
	}
	return &p.Commands
}
