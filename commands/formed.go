package commands

// formed is a command of which Decide refuses something whatever the state is.
type formed interface{ checkForm() error }

// CheckForm returns what Decide refuses of a command whatever the state is, nil if nothing. It is for a client that
// keeps a command while there is no server: nobody may be there to see a refusal later.
func CheckForm(command Command) error {
	if x, ok := command.(formed); ok {
		return x.checkForm()
	}
	return nil
}
