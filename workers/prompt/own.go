package prompt

// Own holds the built-in workflows, as the server uses them: to reset a template, and to check a given text.
type Own struct{}

// Own returns the text of a built-in workflow; false if there is none of that name.
func (Own) Own(id string) (text string, ok bool) { return BuiltIn().Template(id) }

// Check fails if a text is not a workflow.
func (Own) Check(text string) error { return CheckTemplate(text) }
