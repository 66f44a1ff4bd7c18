package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"maestro/commands"
	"maestro/internal/safetext"
)

// Refused is a kept command that the server delivered on behalf of its session, and refused.
type Refused struct {
	Command string `json:"command"`
	// Said shortens what it said, and names the tasks that it was about.
	Said       string    `json:"said,omitempty"`
	Key        string    `json:"-"`
	OccurredAt time.Time `json:"-"`
	// Message, Why and Next are the refusal's. Denied says that it may not be sent again.
	Denied  bool   `json:"denied,omitempty"`
	Message string `json:"message"`
	Why     string `json:"why,omitempty"`
	Next    string `json:"next,omitempty"`
}

const (
	// refusedFile holds the refusals that the session has not seen.
	refusedFile = "refused"
	// MostRefused bounds them: the newest stay.
	MostRefused = 20
	// refusedBytes bounds the file.
	refusedBytes = 1 << 20
	// refusal is the command of a refusal's entry. It may not wait, so nobody can have such an entry delivered.
	refusal = "refusal"
	// saidBytes bounds what is shown of a refused command.
	saidBytes = 120
)

// Said shortens what a command says, and names the tasks that it is about, "" if it says nothing.
func (e Entry) Said() string {
	command, err := commands.Parse(e.Command, e.Body)
	if err != nil {
		return ""
	}
	said := ""
	var tasks []string
	switch c := command.(type) {
	case *commands.Report:
		said, tasks = c.Message, c.TaskIDs
	case *commands.TrackFile:
		said = c.File
	}
	if said != "" {
		said = "“" + safetext.Clip(safetext.OneLine(said), saidBytes) + "”"
	}
	if len(tasks) > 0 {
		said = strings.TrimSpace(said + " on " + safetext.Clip(strings.Join(tasks, ", "), saidBytes))
	}
	return said
}

// NoteRefused stores a refusal for the session, which was not there when its command was delivered. Only the newest few
// are stored.
func (o *Outbox) NoteRefused(ctx context.Context, r Refused) error {
	unlock, err := o.disk.Lock(ctx, keepingLock)
	if err != nil {
		return fmt.Errorf("lock the outbox: %w", err)
	}
	defer unlock()
	noted, err := o.noted()
	if err != nil {
		return err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("a refusal: %w", err)
	}
	e := Entry{
		Command:    refusal,
		Body:       body,
		Key:        r.Key,
		OccurredAt: r.OccurredAt,
	}
	e.Proof = e.prove(o.secret())
	// If the machine died before the entry was removed, it is refused again.
	noted = slices.DeleteFunc(noted, func(before Entry) bool { return before.Key == e.Key })
	noted = append(noted, e)
	content, err := json.Marshal(noted[max(0, len(noted)-MostRefused):])
	if err != nil {
		return fmt.Errorf("refusals: %w", err)
	}
	return o.put(refusedFile, content)
}

// HasRefused reports whether the session has not seen refusals that NoteRefused stored.
func (o *Outbox) HasRefused() (bool, error) {
	_, err := o.disk.Size(refusedFile)
	return err == nil, ignoring(err, fs.ErrNotExist)
}

// TakeRefused returns the refusals that NoteRefused stored, and removes them. It ignores those without proof that the
// server wrote them, which knows the session's secret. It waits at most patience for another process.
func (o *Outbox) TakeRefused(ctx context.Context, patience time.Duration) ([]Refused, error) {
	if _, err := o.disk.Size(refusedFile); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	unlock, err := o.lock(ctx, patience, keepingLock)
	if err != nil {
		return nil, fmt.Errorf("lock the outbox: %w", err)
	}
	defer unlock()
	noted, err := o.noted()
	if err != nil {
		return nil, err
	}
	var taken []Refused
	for _, e := range noted {
		r := Refused{Key: e.Key, OccurredAt: e.OccurredAt}
		if e.Command == refusal && e.proven(o.secret()) && json.Unmarshal(e.Body, &r) == nil {
			taken = append(taken, r)
		}
	}
	return taken, ignoring(o.disk.Remove(refusedFile), fs.ErrNotExist)
}

// noted reads the stored refusals. It sets a file aside that no outbox wrote.
func (o *Outbox) noted() (noted []Entry, err error) {
	content, err := o.disk.Read(refusedFile, refusedBytes)
	var none *NoEntryError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil && !errors.As(err, &none):
		return nil, fmt.Errorf("read the refusals: %w", err)
	case err == nil && json.Unmarshal(content, &noted) == nil:
		return noted, nil
	}
	_, err = o.disk.SetAside(refusedFile, damagedDir)
	return nil, err
}
