package events

// Data is the payload of one event: what happened, rich enough to need no second event. The set is sealed; [Catalogue]
// lists it, and a linter reports a switch that omits one.
//
//sumtype:decl
type Data interface {
	// EventType returns the literal type name that is stored, such as "maestro.task.created.v1".
	EventType() string
	// Aggregate returns what the event happened to: "project", "task", "session", "queue", "input", "token" or
	// "template", and its id.
	Aggregate() (kind, id string)
	// Describe describes what happened in one line, for people.
	Describe() string

	sealed()
}

// Silent marks the payload of an event that happens to a session without a sign that the session is alive.
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
)

// Blobs lists the truncated texts of a payload: field name → digest of the full text in MAESTRO_BLOBS ("sha256-<64
// hex>"). Texts above MaxText go there.
type Blobs map[string]string

const (
	// MaxText is the longest text, in bytes, that an event holds itself.
	MaxText = 64 << 10
	// MaxBody is the longest event body, in bytes, that the log takes.
	MaxBody = 768 << 10
	// PreviewText is how many bytes of a text in the blobs the event itself keeps.
	PreviewText = 1 << 10
)
