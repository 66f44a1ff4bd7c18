package witness

import (
	"context"
	"errors"
	"fmt"

	"maestro/bus"
	"maestro/events"
	"maestro/internal/disk"
)

// Head is the head file of a server that writes.
type Head struct {
	*bus.HeadFile
	Path string
	// Here fails when the home, and the head file with it, is no longer where it was.
	Here func() error
}

// Load preserves an unreadable head file beside the new one: it may be the proof that the log was cut.
func (h Head) Load(context.Context) (events.Head, error) {
	if err := h.Here(); err != nil {
		return events.Head{}, err
	}
	head, err := bus.LoadHeadFile(h.Path)
	if err == nil {
		return head, nil
	}
	aside := h.Path + bus.DamagedSuffix
	if moveErr := disk.Rename(h.Path, aside); moveErr != nil {
		return head, errors.Join(err, moveErr)
	}
	return head, fmt.Errorf("%w; it is %s now", err, aside)
}
