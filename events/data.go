package events

// Data is the payload of one event: what happened, rich enough to need no second event. The set is sealed; [Catalogue]
// lists it, and a linter reports a switch that omits one.
//
//sumtype:decl
type Data interface {
	// EventType returns the literal type name that is stored, such as "maestro.task.created.v1".
	EventType() string
	// Aggregate returns the object of the event: "project", "task", "session", "queue", "input", "token",
	// "template", "text" or "webhook", and its id.
	Aggregate() (kind, id string)
	// Describe says in words what the event did.
	Describe() Description

	sealed()
}

// Silent marks the payload of an event about a session that is no sign that the session is alive.
type Silent interface{ silent() }

// Kinds of aggregate, as subjects name them.
const (
	AggregateProject  = "project"
	AggregateTask     = "task"
	AggregateSession  = "session"
	AggregateQueue    = "queue"
	AggregateInput    = "input"
	AggregateToken    = "token"
	AggregateTemplate = "template"
	AggregateText     = "text"
	AggregateWebhook  = "webhook"
)

// Blobs lists the truncated texts of a payload: field name → digest of the full text in MAESTRO_BLOBS ("sha256-<64
// hex>"). Texts above MaxText are stored there.
type Blobs map[string]string

const (
	// MaxText is the maximum size, in bytes, of a text in an event.
	MaxText = 64 << 10
	// MaxLongText is the maximum size, in bytes, of a text outside the events: the largest are manifests.
	MaxLongText = 16 << 20
	// MaxBody is the maximum size, in bytes, of an event's body.
	MaxBody = 768 << 10
	// PreviewText is how many bytes of a text among the blobs the event itself has.
	PreviewText = 1 << 10
)
