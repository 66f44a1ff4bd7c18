package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/safetext"
)

const (
	// The longest texts of a record, in bytes. They are bounded because a refused caller chooses them.
	denialActor   = 256
	denialName    = 200
	denialMessage = 512
	denialTarget  = 2 << 10
	denialID      = 128
	denialText    = events.PreviewText
	// denialTargets is how many of the task ids of a command a record holds.
	denialTargets = 8
	// MaxDenial bounds the texts of one record, in bytes. The record's JSON has at most twice as many and a few
	// hundred.
	MaxDenial = 6 << 10
)

// Denial is the record of one refusal, or of several equal ones.
type Denial struct {
	// ID identifies the record. It contains the actor's own count of records.
	ID    string `json:"id"`
	Actor string `json:"actor"`
	// ActorName is the name of a session; it is not stored, but set when the record is shown.
	ActorName string `json:"actorName,omitempty"`
	// Number orders all records by the time of their first refusal.
	Number uint64 `json:"number"`
	// Root is the root of the session's project, if that is another project.
	Root    string `json:"root,omitempty"`
	Authn   string `json:"authn"`
	Command string `json:"command"`
	Project string `json:"project,omitempty"`
	// Target holds the ids that the command named, as JSON.
	Target json.RawMessage `json:"target,omitempty"`
	Code   commands.Code   `json:"code"`
	// Rule is the row of the permission table that refused, if one did. Rules is the table's version.
	Rule    string `json:"rule,omitempty"`
	Rules   string `json:"rules"`
	Message string `json:"message"`
	Why     string `json:"why,omitempty"`
	// Sequence is the log position on which the first refusal was decided.
	Sequence uint64 `json:"sequence"`
	// First and Last are the times of the first and the last refusal, in milliseconds since 1970. Count is their
	// number.
	First events.Millis `json:"first"`
	Last  events.Millis `json:"last"`
	Count int           `json:"count"`
	// More marks a record that stands for refusals of several kinds, beyond the number that is recorded one by one.
	More bool `json:"more,omitempty"`
	// Kept marks a command that had waited in an outbox and whose caller had been told that it was kept. The record
	// then holds its words and the time at which they were said.
	Kept       bool          `json:"kept,omitempty"`
	Text       string        `json:"text,omitempty"`
	OccurredAt events.Millis `json:"occurredAt,omitempty"`
	Key        string        `json:"key,omitempty"`
	// Told says that the caller of a kept command was shown that it was refused.
	Told bool `json:"told,omitempty"`
	// Cut says that a text was shortened to fit into the record.
	Cut bool `json:"cut,omitempty"`
}

// targets holds the ids that a command names.
type targets struct {
	TaskID    string   `json:"taskId,omitempty"`
	TaskIDs   []string `json:"taskIds,omitempty"`
	SessionID string   `json:"sessionId,omitempty"`
	ProjectID string   `json:"projectId,omitempty"`
	Queue     string   `json:"queue,omitempty"`
	InputID   string   `json:"inputId,omitempty"`
}

// TaskIDs returns the tasks that the command named, as far as the record has them.
func (x *Denial) TaskIDs() []string {
	var named targets
	if json.Unmarshal(x.Target, &named) != nil {
		return nil
	}
	if named.TaskID != "" {
		return append(named.TaskIDs, named.TaskID)
	}
	return named.TaskIDs
}

// bound cuts everything that is longer than a valid id, and reports whether it cut.
func (x *targets) bound() (cut bool) {
	short := func(id string) string {
		cut = cut || len(id) > denialID
		return safetext.Shorten(id, denialID)
	}
	if len(x.TaskIDs) > denialTargets {
		x.TaskIDs, cut = x.TaskIDs[:denialTargets], true
	}
	for i, id := range x.TaskIDs {
		x.TaskIDs[i] = short(id)
	}
	x.TaskID, x.SessionID, x.ProjectID = short(x.TaskID), short(x.SessionID), short(x.ProjectID)
	x.Queue, x.InputID = short(x.Queue), short(x.InputID)
	return cut
}

// denialOf builds the record of a refused command. root is the root of the session's project.
func denialOf(r Request, root string, refusal *commands.Refusal, sequence uint64) Denial {
	denial := Denial{
		Actor:    r.By.Source(),
		Root:     otherRoot(r.By, root),
		Authn:    r.By.Authn,
		Command:  r.Command.ID(),
		Code:     refusal.Code,
		Rule:     refusal.Rule,
		Rules:    commands.RulesVersion,
		Message:  refusal.Message,
		Why:      refusal.Why,
		Sequence: sequence,
		Project:  r.By.Project,
	}
	// A command was parsed from JSON, so that it can be marshalled again.
	body, err := json.Marshal(r.Command)
	var named struct {
		targets
		Project string `json:"project"`
		Message string `json:"message"`
		File    string `json:"file"`
	}
	if err == nil && json.Unmarshal(body, &named) == nil {
		cut := named.bound()
		if target, err := json.Marshal(named.targets); err == nil && string(target) != "{}" {
			denial.Target, denial.Cut = target, cut
		}
		if named.Project != "" && len(named.Project) <= commands.MaxName {
			denial.Project = named.Project
		}
	}
	if !r.OccurredAt.IsZero() {
		denial.Kept, denial.OccurredAt, denial.Key = true, events.Millis(r.OccurredAt.UnixMilli()), r.Key
		denial.Text = cmp.Or(named.Message, named.File)
		denial.Told = r.Told
	}
	return denial
}

// otherRoot returns the root of a session's project if that is another project.
func otherRoot(by commands.Actor, root string) string {
	if by.Kind != commands.ActorSession || root == by.Project {
		return ""
	}
	return root
}

// bound cuts every text that is longer than a record may hold, and marks the record as cut.
func (x *Denial) bound() {
	if len(x.Actor) > denialActor {
		sum := sha256.Sum256([]byte(x.Actor))
		x.Actor = fmt.Sprintf("%s…%x", safetext.Shorten(x.Actor, denialActor/2), sum[:8])
		x.Cut = true
	}
	for _, field := range []struct {
		text *string
		most int
	}{
		{&x.Authn, denialName},
		{&x.Command, denialName},
		{&x.Project, denialName},
		{&x.Root, denialName},
		{&x.Rule, denialName},
		{&x.Rules, denialName},
		{&x.Key, commands.MaxKey},
		{&x.Message, denialMessage},
		{&x.Why, denialMessage},
		{&x.Text, denialText},
	} {
		if len(*field.text) > field.most {
			x.Cut = true
		}
		*field.text = safetext.Shorten(*field.text, field.most)
	}
	if len(x.Target) > denialTarget {
		x.Target, x.Cut = nil, true
	}
}

// size is the memory that the record's texts take, in bytes.
func (x *Denial) size() int {
	return len(x.ID) + len(x.Actor) + len(x.Root) + len(x.Authn) + len(x.Command) + len(x.Project) + len(x.Target) +
		len(x.Code) + len(x.Rule) + len(x.Rules) + len(x.Message) + len(x.Why) + len(x.Text) + len(x.Key)
}

// encode returns the record as compact JSON.
func (x *Denial) encode() ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(x); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(body.Bytes(), []byte("\n")), nil
}

// kind is a digest of the fields that equal refusals share. It is remembered for a minute.
func (x *Denial) kind() [sha256.Size]byte {
	return sha256.Sum256(
		fmt.Append(
			nil, x.Authn, "\x00", x.Command, "\x00", x.Project, "\x00", x.Code, "\x00", x.Rule, "\x00", x.Message,
			"\x00", string(x.Target),
		),
	)
}
