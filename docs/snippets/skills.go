// An agent skill: instructions served to clients, and a client that loads them.
package main

import (
	"context"
	"fmt"
	"strings"
	"testing/fstest"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

const manifest = `---
name: packing
description: How to pack for a trip.
---
Ask for the forecast first.
`

func main() {
	ctx := context.Background()
	trips := trunkline.NewServer("trips", "1.0.0")
	defer trips.Close(ctx)
	// Or os.DirFS for a folder, or an embed.FS.
	trunkline.Must(trips.AddSkill(fstest.MapFS{"SKILL.md": {Data: []byte(manifest)}}))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, trips))
	defer client.Close()
	for skill, err := range client.Skills(ctx) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %s\n", skill.Frontmatter["name"], skill.Frontmatter["description"])
		loaded := trunkline.Must(client.LoadSkill(ctx, skill))
		_, instructions, _ := strings.Cut(strings.TrimPrefix(loaded.Text, "---\n"), "---\n")
		fmt.Print(instructions)
	}
}
