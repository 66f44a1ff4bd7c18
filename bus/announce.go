package bus

import "maestro/events"

// Announce publishes committed messages to the listeners on maestro.live.>: at most once, in order, and only what was
// acknowledged. It does not wait for listeners: a slow one loses announcements, and one that connects while the log is
// reopened receives none of them.
func (b *Bus) Announce(messages []events.Message) {
	files, release, err := b.useFiles()
	if err != nil {
		return
	}
	defer release()
	if files != nil {
		return
	}
	for i := range messages {
		subject := events.LiveSubject(messages[i].Subject)
		if b.embedded != nil && !b.embedded.interest(subject) {
			continue
		}
		if b.live.Publish(subject, messages[i].Body) != nil {
			return // not connected: nobody receives it
		}
	}
}
