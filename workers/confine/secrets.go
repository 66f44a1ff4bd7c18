package confine

import (
	"path/filepath"
	"strings"
)

// secrets are the paths below a home directory that contain credentials or what a person typed. A pattern names all
// paths that it matches when the command starts.
var secrets = []string{
	// keys and passwords
	".ssh", ".gnupg", ".pki", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".config/keepassxc",
	".config/Bitwarden*", ".config/1Password", ".config/op", ".vault-token", ".age", ".config/sops", ".netrc", "_netrc",
	".authinfo*", ".pgpass", ".my.cnf", ".mylogin.cnf", ".Xauthority", ".ICEauthority",
	// clouds and clusters
	".aws", ".azure", ".config/gcloud", ".boto", ".oci", ".kube", ".docker", ".config/containers/auth.json",
	".config/doctl",
	".config/hcloud", ".config/rclone", ".s3cfg", ".terraform.d/credentials*", ".terraformrc", ".config/heroku", ".fly",
	".config/flyctl", ".config/netlify", ".config/vercel", ".local/share/com.vercel.cli", ".wrangler",
	".config/.wrangler", ".config/stripe",
	// forges and package registries
	".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli", ".config/tea",
	".npmrc", ".yarnrc.yml", ".config/pnpm/rc", ".pypirc", ".config/pypoetry/auth.toml", ".cargo/credentials*",
	".gem/credentials", ".m2/settings*.xml", ".gradle/gradle.properties", ".nuget/NuGet/NuGet.Config",
	".config/composer/auth.json",
	".composer/auth.json", ".hex/hex.config", ".condarc", ".huggingface", ".cache/huggingface/token",
	".config/huggingface",
	// logins of other agents
	".claude", ".claude.json*", ".config/claude*", ".config/Claude", ".codex", ".config/codex", ".gemini",
	".config/gemini", ".config/github-copilot", ".copilot", ".cursor", ".config/Cursor", ".config/opencode",
	".local/share/opencode", ".aider*", ".continue", ".config/goose", ".qwen",
	// browsers and mail
	".mozilla", ".thunderbird", ".config/google-chrome*", ".config/chromium", ".config/BraveSoftware",
	".config/microsoft-edge*", ".config/vivaldi", ".config/opera", ".librewolf", ".cache/mozilla",
	".cache/google-chrome*", ".cache/chromium", ".config/Signal", ".config/Slack", ".config/discord",
	".local/share/TelegramDesktop", ".config/evolution", ".local/share/evolution", ".mbsyncrc", ".msmtprc",
	"snap/firefox", "snap/chromium", ".var/app",
	// what was typed
	".*_history", ".*history", ".history", ".local/share/fish", ".config/fish/fish_variables", ".zsh_sessions",
	".lesshst", ".viminfo", ".local/share/recently-used.xbel",
}

// systemSecrets are paths outside homes that contain credentials. Most of them are unreadable for an ordinary user.
var systemSecrets = []string{
	"/etc/shadow*", "/etc/gshadow*", "/etc/sudoers*", "/etc/ssh/ssh_host_*_key", "/etc/ssl/private",
	"/etc/krb5.keytab", "/etc/NetworkManager/system-connections", "/etc/wireguard", "/etc/docker/key.json",
	"/etc/kubernetes", "/etc/rancher", "/var/lib/kubelet", "/var/lib/docker", "/var/lib/containerd",
	"/var/lib/containers", "/var/spool/cron", "/var/spool/mail", "/var/mail", "/var/lib/systemd/credential.secret",
}

// Secrets returns the files and directories of a home directory that are hidden by default. Some may not exist.
func Secrets(home string) []string { return expand(home, secrets) }

// expand returns the paths below a directory that a list of patterns names. A name that is no pattern is returned also
// if nothing has it: Landlock allows files one by one in a directory that contains something hidden, so what appears
// there later is not readable.
func expand(root string, patterns []string) (found []string) {
	for _, pattern := range patterns {
		if !strings.ContainsAny(pattern, `*?[\`) {
			found = append(found, filepath.Join(root, pattern))
			continue
		}
		paths, err := filepath.Glob(filepath.Join(escape(root), pattern))
		if err != nil {
			continue // the patterns are valid; a test checks them
		}
		found = append(found, paths...)
	}
	return found
}

// escape returns the pattern that matches a path itself.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
