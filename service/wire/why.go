package wire

import "maestro/events"

// WhyQuery asks for the causes of the present state of an object.
type WhyQuery struct {
	ID string `path:"id" doc:"the id or sequence of an event, the id of a task, session or question, or <queue>/<task>"`
}

// Why explains the present state: for each fact, the chain of causes back to a person or a deadline.
type Why struct {
	ID     string     `json:"id"`
	Chains []WhyChain `json:"chains"`
	// ChainsMore counts the queues of a task without a chain.
	ChainsMore int `json:"chainsMore,omitempty"`
	// Names are the names of the sessions that acted, and the name of what is asked about, by id.
	Names map[string]string `json:"names,omitempty"`
}

// WhyChain leads from a fact to its first cause.
type WhyChain struct {
	// What is the fact.
	What string `json:"what"`
	// Steps are the events, newest first.
	Steps []WhyStep `json:"steps"`
	// Root says who or what started it.
	Root string `json:"root"`
}

// WhyStep is an event of a chain of causes.
type WhyStep struct {
	Sequence uint64        `json:"sequence"`
	ID       string        `json:"id"`
	Time     events.Millis `json:"time"`
	Source   string        `json:"source"`
	Type     string        `json:"type"`
	What     string        `json:"what"`
}
