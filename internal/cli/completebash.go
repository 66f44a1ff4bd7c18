package cli

import (
	"bytes"
	"errors"
	"strings"

	"github.com/spf13/cobra"
)

// wordsOfPackage is the line of cobra's bash script that uses a function of the bash-completion package.
const wordsOfPackage = `    _get_comp_words_by_ref "$@" cur prev words cword` + "\n"

// ownWords replaces that line: bash splits words at = and :, and this joins them again where there was no space.
const ownWords = `    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local i word before n=-1 rest=$COMP_LINE
    words=()
    for i in "${!COMP_WORDS[@]}"; do
        word=${COMP_WORDS[i]}
        before=$rest
        if [[ -n $word ]]; then
            before=${rest%%"$word"*}
            rest=${rest#*"$word"}
        fi
        if [[ $n -gt 0 && -z $before && ( $word == [=:]* || ${words[n]} == *[=:] ) ]]; then
            words[n]+=$word
        else
            words+=("$word")
            n=$((n + 1))
        fi
        if [[ $i -eq $COMP_CWORD ]]; then
            cword=$n
        fi
    done
    cur=${words[cword]}
    if [[ $cword -gt 0 ]]; then
        prev=${words[cword-1]}
    fi
`

// completeInBash changes cobra's bash completion script so that it needs no package.
func completeInBash(root *cobra.Command, args []string) {
	root.InitDefaultCompletionCmd(args...)
	if group, _, err := root.Find([]string{"completion"}); err == nil && group.Name() == "completion" {
		group.Example = indented("source <(maestro completion bash)")
		for _, shell := range group.Commands() {
			shell.Example = indented("maestro completion " + shell.Name())
		}
	}
	cmd, _, err := root.Find([]string{"completion", "bash"})
	if err != nil || cmd.Name() != "bash" {
		return // the script is only needed for these lines
	}
	cmd.Long = `Generate the autocompletion script for the bash shell.

To load completions in your current shell session:

	source <(maestro completion bash)

To load them in every session, add this line to ~/.bashrc. Where the bash-completion package is installed, you can write
the script to a file of its directory instead:

	maestro completion bash > /etc/bash_completion.d/maestro`
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		plain, err := cmd.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		var script bytes.Buffer
		if err := cmd.Root().GenBashCompletionV2(&script, !plain); err != nil {
			return err
		}
		if !strings.Contains(script.String(), wordsOfPackage) {
			return errors.New("the script for bash is not what was expected")
		}
		_, err = cmd.OutOrStdout().Write([]byte(strings.Replace(script.String(), wordsOfPackage, ownWords, 1)))
		return err
	}
}
