package prompt

// Own are the workflows that Maestro comes with, as the server uses them: for a template that is set back to its own
// text, and to check a text that is given.
type Own struct{}

// Own returns the text of a workflow that Maestro comes with; false if there is none of that name.
func (Own) Own(id string) (text string, ok bool) { return BuiltIn().Template(id) }

// Check fails where a text is no workflow.
func (Own) Check(text string) error { return CheckTemplate(text) }
