package dev.trunkline

/** The user's response to a form of a class. */
public sealed interface Elicited<out T : Any> {
    /** The form, or null unless the user accepted it. */
    public val content: T? get() = null

    /** The user filled in the form. */
    public class Accept<out T : Any>(override val content: T) : Elicited<T>

    /** The user declined. */
    public data object Decline : Elicited<Nothing>

    /** The user dismissed the form without a decision. */
    public data object Cancel : Elicited<Nothing>
}
