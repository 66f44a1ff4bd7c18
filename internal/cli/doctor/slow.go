package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"maestro/internal/cli"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// The bounds beyond which something is too slow, or is refused too often.
const (
	slowLeast    = 100                    // appends or commands, of which one in a hundred counts
	slowAppend   = 250 * time.Millisecond // bounds of a bucket of the histogram, as the next one is
	slowCommand  = time.Second
	oldestMost   = time.Hour   // that an item may wait that could be started
	refusedMost  = 100         // calls that one limit may refuse, since the server started
	failingMost  = time.Minute // that a webhook may fail
	problemWords = 200         // bytes of what a webhook's receiver answered
)

// slower returns how many of a histogram's observations took longer than a bucket's bound, and how many there are. It
// returns 0 unless these are more than one in a hundred, and if there are too few to tell.
func (f figures) slower(name string, than time.Duration) (slow, all uint64) {
	for _, m := range f[name].GetMetric() {
		h := m.GetHistogram()
		all = h.GetSampleCount()
		for _, bucket := range h.GetBucket() {
			if bucket.GetUpperBound() == than.Seconds() {
				slow = all - bucket.GetCumulativeCount()
			}
		}
	}
	if all < slowLeast || slow*100 <= all {
		return 0, all
	}
	return slow, all
}

// ofWaits judges for how long the writer, the disk and the queues make others wait, and what the limits refuse.
func (x *examination) ofWaits() (found []Finding) {
	f := x.figures
	if slow, all := f.slower("maestro_append_duration_seconds", slowAppend); slow > 0 {
		found = append(found, appendsSlow.found(
			fmt.Sprintf("%d of %d appends took longer than %s since the server started", slow, all, slowAppend),
			"a command is answered once its events are on the disk",
			"look for what else uses the log's disk, and measure it with `maestro bench`"))
	}
	if slow, all := f.slower("maestro_command_wait_seconds", slowCommand); slow > 0 {
		found = append(found, commandsSlow.found(
			fmt.Sprintf("%d of %d commands waited longer than %s for the writer since the server started", slow, all,
				slowCommand),
			"every agent waits for the answer to its command",
			"see who sends so many with `maestro audit limits`, and measure the disk with `maestro bench`"))
	}
	if waited := f.atLeast(oldestMost.Seconds(), "maestro_queue_oldest_ready_seconds", ""); waited > 0 {
		found = append(found, itemsWaiting.found(
			"A queue item that could be started was pushed "+cli.Many(int(waited)/60, "minute")+" ago",
			"its queue has no worker that is free, or none at all",
			"see `maestro inbox --all-projects`, which says what to spawn, and `maestro session list --active`"))
	}
	for _, m := range f["maestro_limit_refusals_total"].GetMetric() {
		n := max(m.GetCounter().GetValue(), m.GetUntyped().GetValue())
		if n < refusedMost {
			continue
		}
		for _, l := range m.GetLabel() {
			found = append(found, limitRefuses.found(
				fmt.Sprintf("Limit %s has refused %.0f calls since the server started", l.GetValue(), n),
				"whoever reaches it waits, or is not done with what it wanted",
				"see what it bounds with `maestro audit limits`, and whom it refused with `maestro audit denials`; "+
					"`maestro serve --set-limit` changes a quota"))
		}
	}
	return found
}

// lookAtWebhooks looks for webhooks whose receivers do not accept what they are sent. /readyz names those that are
// parked because of that.
func lookAtWebhooks(ctx context.Context, x *examination) (found []Finding) {
	if !x.may("webhooks") {
		return nil
	}
	webhooks, err := x.server.Webhooks(ctx)
	if err != nil {
		return x.silent(err)
	}
	status, err := x.server.Clock(ctx)
	if err != nil {
		return x.silent(err)
	}
	for _, w := range webhooks {
		if w.Parked != nil || w.Delivery == nil || w.Delivery.FailingSince == nil {
			continue
		}
		failing := status.Time.Sub(time.UnixMilli(int64(*w.Delivery.FailingSince)))
		if failing < failingMost {
			continue
		}
		next := "correct the receiver, or the URL with `maestro webhook update " + w.ID + " --url URL`; then " +
			"`maestro webhook resume " + w.ID + "` tries at once"
		if strings.Contains(w.Delivery.Problem, wire.UnlessAllowed) {
			next = wire.AllowNext
		}
		found = append(found, webhookFailing.found(
			fmt.Sprintf("Webhook '%s' has failed %s in %s", w.Name, cli.Many(w.Delivery.Failures, "time"),
				cli.Many(int(failing.Minutes()), "minute")),
			fmt.Sprintf("its receiver is %s behind: %s", cli.Many(int(w.Delivery.Behind), "event"),
				safetext.Clip(w.Delivery.Problem, problemWords)), next))
	}
	return found
}
