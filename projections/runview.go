package projections

import "maestro/events"

// RunView shows a launch of a session's agent.
type RunView struct {
	// Number is 1 for the first run.
	Number int `json:"number"`
	// Runner launched the agent with the driver Agent, on the machine Host.
	Runner string `json:"runner"`
	Host   string `json:"host,omitempty"`
	Agent  string `json:"agent,omitempty"`
	// Layers are the active layers of confinement; empty if nothing confines the agent.
	Layers []string `json:"layers"`
	// Resumes says that the agent continued the conversation of an earlier run.
	Resumes   bool           `json:"resumes,omitempty"`
	ClaimedAt events.Millis  `json:"claimedAt"`
	ExitedAt  *events.Millis `json:"exitedAt,omitempty"`
	// ExitCode is absent while the agent runs, and if a signal ended it.
	ExitCode *int   `json:"exitCode,omitempty"`
	Signal   string `json:"signal,omitempty"`
	// Status is how its exit ended the session: completed or failed; absent if it did not.
	Status events.SessionStatus `json:"status,omitempty"`
	Reason string               `json:"reason,omitempty"`
	// LastOutput is the end of its output.
	LastOutput string `json:"lastOutput,omitempty"`
	// Conversation is the agent's own id of its conversation, of this run or of an earlier one.
	Conversation string `json:"conversation,omitempty"`
	// Waits says that the agent ended while the session waits for an answer: the next run brings it.
	Waits bool `json:"waits,omitempty"`
	// Resumed says that the next run may begin.
	Resumed bool `json:"resumed,omitempty"`
}

// UsageView shows what a session used: all of it, and by model.
type UsageView struct {
	events.Usage
	Models []events.Usage `json:"models,omitempty"`
}

// StuckView says why an agent looks stuck.
type StuckView struct {
	Kind   events.StuckKind `json:"kind"`
	Detail string           `json:"detail,omitempty"`
	Since  events.Millis    `json:"since"`
}

// show adds the runs to the view of a session.
func (r *Runs) show(view *SessionView) {
	if r == nil {
		return
	}
	run := r.Last
	view.Blocked = r.Blocked
	view.Run = &RunView{
		Number:       run.Number,
		Runner:       run.Runner,
		Host:         run.Host,
		Agent:        run.Agent,
		Layers:       list(run.Layers),
		Resumes:      run.Resumes,
		ClaimedAt:    events.Millis(run.ClaimedAt),
		ExitedAt:     orNull(events.Millis(run.ExitedAt)),
		ExitCode:     run.ExitCode,
		Signal:       run.Signal,
		Status:       run.Status,
		Reason:       run.Reason,
		LastOutput:   run.LastOutput,
		Conversation: run.Conversation,
		Waits:        view.EndedAt == nil && run.Exited() && !run.IsResumed(),
		Resumed:      run.IsResumed(),
	}
	if r.Used != (events.Usage{}) {
		view.Usage = &UsageView{Usage: r.Used, Models: r.Models}
	}
	if r.Stuck != nil {
		view.Stuck = &StuckView{r.Stuck.Kind, r.Stuck.Detail, events.Millis(r.Stuck.Since)}
	}
}
