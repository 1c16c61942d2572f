// An agent skill: instructions served to clients, and a client that loads them.
package skills

import dev.trunkline.Client
import dev.trunkline.TextResourceContents
import dev.trunkline.server
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive

const val MANIFEST = """---
name: packing
description: How to pack for a trip.
---
Ask for the forecast first.
"""

suspend fun main() {
    val trips = server("trips", "1.0.0") { skill(mapOf("SKILL.md" to MANIFEST)) } // or the path of a folder

    Client.connect(trips).use { client ->
        for (skill in client.listSkills()) {
            val facts = skill.frontmatter.jsonObject.mapValues { it.value.jsonPrimitive.content }
            println("${facts["name"]}: ${facts["description"]}")
            val manifest = client.loadSkill(skill) as TextResourceContents
            println(manifest.text.split("---\n").last().trim())
        }
    }
}
