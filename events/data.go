package events

// Data is the payload of one event: what happened, rich enough to need no second event. The set is sealed; [Catalogue]
// lists it, and a linter reports a fold that forgets one.
//
//sumtype:decl
type Data interface {
	// EventType returns the literal type name that is stored, such as "maestro.task.created.v1".
	EventType() string
	// Aggregate names what it happened to: "project", "task", "session", "queue", "input", "token" or "template",
	// and its id.
	Aggregate() (kind, id string)
	// Describe says in a line of words what happened, for people.
	Describe() string

	sealed()
}

// Silent marks the payload of an event that happens to a session without a sign that the session is alive.
type Silent interface{ silent() }

// Kinds of aggregate, as they stand in subjects.
const (
	AggregateProject  = "project"
	AggregateTask     = "task"
	AggregateSession  = "session"
	AggregateQueue    = "queue"
	AggregateInput    = "input"
	AggregateToken    = "token"
	AggregateTemplate = "template"
)

// Blobs tells which texts of a payload are only their beginning: field name → digest of the whole in MAESTRO_BLOBS
// ("sha256-<64 hex>"). Texts above MaxText go there.
type Blobs map[string]string

const (
	// MaxText is the longest text, in bytes, that an event holds itself.
	MaxText = 64 << 10
	// MaxBody is the longest event body, in bytes, that the log takes.
	MaxBody = 768 << 10
	// PreviewText is how much, in bytes, of a text in the blobs stays in the event.
	PreviewText = 1 << 10
)
