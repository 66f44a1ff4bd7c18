package events

// inQueue names the queue of an item in an event's description.
func inQueue(queue string) string { return " in queue " + queue }

// prefixed returns "" for an empty text.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// forced marks what was done in spite of a warning.
func forced(is bool) string {
	if is {
		return " (forced)"
	}
	return ""
}
