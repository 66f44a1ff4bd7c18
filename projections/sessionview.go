package projections

import (
	"encoding/json"

	"maestro/events"
)

// SessionView shows a session. Timeline and Events are nil unless asked for.
type SessionView struct {
	ID           string               `json:"id"`
	ProjectID    string               `json:"projectId"`
	TaskIDs      []string             `json:"taskIds"`
	Unlinked     []Unlinked           `json:"unlinked,omitempty"`
	Name         string               `json:"name"`
	Role         events.Role          `json:"role"`
	Env          map[string]string    `json:"env"`
	Strategy     events.Strategy      `json:"strategy"`
	Status       events.SessionStatus `json:"status"`
	StartedAt    events.Millis        `json:"startedAt"`
	LastActivity events.Millis        `json:"lastActivity"`
	// LastHeard is when it last called, including heartbeats and reads; 0 if it never has. It is not in the state; the
	// service sets it.
	LastHeard events.Millis `json:"lastHeard,omitempty"`
	// ExitedAt is when its command ended, absent if it was heard since, or has run none.
	ExitedAt *events.Millis `json:"exitedAt,omitempty"`
	// ExitCode is that of this command.
	ExitCode *int `json:"exitCode,omitempty"`
	// Runner is the runner that launches its agent, absent if whoever spawned it does.
	Runner string `json:"runner,omitempty"`
	// Run is the last launch of its agent by a runner, absent before the first.
	Run *RunView `json:"run,omitempty"`
	// Usage is what all its runs used, absent if none said.
	Usage *UsageView `json:"usage,omitempty"`
	// Blocked counts the commands of its agent that were not allowed to run.
	Blocked int `json:"blocked,omitempty"`
	// Stuck says why its agent looks stuck; absent if it does not.
	Stuck       *StuckView     `json:"stuck,omitempty"`
	CompletedAt *events.Millis `json:"completedAt"`
	EndedAt     *events.Millis `json:"endedAt,omitempty"`
	EndReason   string         `json:"endReason,omitempty"`
	// LostAt is when it was marked lost, absent if it is not, has ended, or said that it is done.
	LostAt *events.Millis `json:"lostAt,omitempty"`
	// Deadline is when it ends as failed.
	Deadline *events.Millis `json:"deadline,omitempty"`
	// Queue is the queue that it pulls from, Item the task of the item that it holds.
	Queue       string              `json:"queue,omitempty"`
	Item        string              `json:"item,omitempty"`
	SpawnedBy   string              `json:"spawnedBy,omitempty"`
	CreatedBy   string              `json:"createdBy"`
	Permissions *events.Permissions `json:"permissions,omitempty"`
	Model       string              `json:"model,omitempty"`
	Agent       string              `json:"agent,omitempty"`
	AgentID     string              `json:"agentId,omitempty"`
	Skills      []string            `json:"skills,omitempty"`
	// Options are how its agent is run, where that is not the default.
	Options *events.AgentOptions `json:"options,omitempty"`
	// OwnManifest says that somebody wrote its manifest, which alone has its model and its options.
	OwnManifest    bool   `json:"ownManifest,omitempty"`
	ManifestDigest string `json:"manifestDigest,omitempty"`
	// ManifestRedacted says that the manifest was removed for good.
	ManifestRedacted *RedactionView  `json:"manifestRedacted,omitempty"`
	Metadata         json.RawMessage `json:"metadata,omitempty"`
	// Names are the names of the sessions and the titles of the tasks that the view mentions, by id. The service sets
	// them, for a single session.
	Names map[string]string `json:"names,omitempty"`
}

// SessionView shows a session of the state without its timeline, and says whether its command ended.
func (s *State) SessionView(x *Session) SessionView {
	view := x.View()
	view.ManifestRedacted = s.RedactionView(x.ManifestDigest)
	if exit := s.Exit(x); exit != nil {
		at := events.Millis(exit.At)
		view.ExitedAt, view.ExitCode = &at, exit.ShownExitCode()
	}
	return view
}

// View shows the session without its timeline.
func (x *Session) View() SessionView {
	env := x.Env
	if env == nil {
		env = map[string]string{}
	}
	item := ""
	if x.LastItem != nil && x.LastItem.Held {
		item = x.LastItem.TaskID
	}
	lost := x.LostAt
	if !x.Silent() {
		lost = 0
	}
	model, options := x.Model, x.Options
	if x.OwnManifest {
		model, options = "", nil
	}
	view := SessionView{
		LostAt:         orNull(events.Millis(lost)),
		Deadline:       orNull(events.Millis(x.Deadline)),
		Queue:          x.Queue,
		Item:           item,
		Unlinked:       x.Unlinked,
		ID:             x.ID,
		ProjectID:      x.ProjectID,
		TaskIDs:        list(x.TaskIDs),
		Name:           x.Name,
		Role:           x.Role,
		Env:            env,
		Strategy:       x.Strategy,
		Status:         x.Status,
		StartedAt:      events.Millis(x.StartedAt),
		LastActivity:   events.Millis(x.LastActivity),
		CompletedAt:    orNull(events.Millis(x.CompletedAt)),
		EndedAt:        orNull(events.Millis(x.EndedAt)),
		EndReason:      x.EndReason,
		SpawnedBy:      x.SpawnedBy,
		CreatedBy:      x.CreatedBy,
		Permissions:    x.Permissions,
		Model:          model,
		Agent:          x.Agent,
		AgentID:        x.AgentID,
		Skills:         x.Skills,
		Options:        options,
		OwnManifest:    x.OwnManifest,
		ManifestDigest: x.ManifestDigest,
		Metadata:       x.Metadata,
		Runner:         x.Runner,
	}
	x.Runs.show(&view)
	return view
}
