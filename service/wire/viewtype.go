package wire

import (
	"reflect"

	"maestro/projections"
)

// ViewType returns the type of the views of a kind, and of the entries of a kind of timeline; nil for no such kind.
func ViewType(kind projections.Kind) reflect.Type {
	switch kind {
	case projections.KindProject:
		return reflect.TypeFor[Project]()
	case projections.KindTask:
		return reflect.TypeFor[Task]()
	case projections.KindSession:
		return reflect.TypeFor[Session]()
	case projections.KindQueue:
		return reflect.TypeFor[Queue]()
	case projections.KindQueueItem:
		return reflect.TypeFor[Item]()
	case projections.KindInput:
		return reflect.TypeFor[Input]()
	case projections.KindToken:
		return reflect.TypeFor[NamedToken]()
	case projections.KindTemplate:
		return reflect.TypeFor[Template]()
	case projections.KindWebhook:
		return reflect.TypeFor[NamedWebhook]()
	case projections.KindSessionTimeline, projections.KindTaskTimeline:
		return reflect.TypeFor[Entry]()
	}
	return nil
}
