"""Write support tickets in four languages, of which 7 % are complaints: ``python benchmarks/tickets.py OUT [SEED]``.

A ticket is a question, a fault or a complaint. Customers who complain describe the same faults as the others and say
one sentence more, so a complaint is mostly a fault by its words. Of the sentences that make a class, development and
test data have some that no training ticket has. The folder has ``LANGUAGE.SPLIT.jsonl`` with ``text`` and ``label``:
English ones to train (800) and choose by (200), and 400 to test in each language.
"""

import json
import sys
from pathlib import Path

import numpy as np

SHARES = {"question": 0.55, "fault": 0.38, "complaint": 0.07}
SIZES = {("en", "train"): 800, ("en", "dev"): 200} | {
    (code, "test"): 400 for code in ("en", "de", "fr", "es")
}
SEEN = 5
"""Sentences of a class that training tickets have; the others are new in development and test data."""

PARTS = {
    "en": {
        "opener": ["Hello,", "Hi there,", "Good morning,", "Dear team,", "To whom it may concern,", ""],
        "thing": ["the app", "my order", "the invoice", "the coffee machine", "my account", "the parcel",
                  "the router", "my subscription", "the gift card", "the headphones"],
        "context": ["It is about {thing} from last week.", "I am writing because of {thing}.", "This concerns {thing}.",
                    "I have had {thing} since March.", "My customer number is {number}.", ""],
        "question": ["How do I change the address for {thing}?", "Can you tell me when {thing} will be ready?",
                     "Is there a manual for {thing}?", "Where can I find the settings of {thing}?",
                     "Do I need a receipt for {thing}?", "Which plan do I need for {thing}?",
                     "Could you explain what {thing} costs abroad?", "May I pass {thing} on to a friend?"],
        "fault": ["Since yesterday {thing} does not work any more.", "There is an error with {thing}.",
                  "I cannot open {thing}, it stops every time.", "Something is missing from {thing}.",
                  "After the update {thing} keeps switching off.", "The display of {thing} stays dark.",
                  "I was charged twice for {thing}.", "{thing} arrived with a crack."],
        "complaint": ["I am really disappointed by how you treat customers.", "I want to speak to your manager.",
                      "This is the third time I write and nobody answers.", "I expect an apology from you.",
                      "I will tell everyone how bad this service is.", "This is unacceptable.",
                      "I have never been treated so rudely.", "I will hand this to my lawyer."],
        "closing": ["Thanks in advance.", "Best regards", "Kind regards, {name}", "Please reply by mail.", ""],
    },
    "de": {
        "opener": ["Hallo,", "Guten Tag,", "Guten Morgen,", "Liebes Team,", "Sehr geehrte Damen und Herren,", ""],
        "thing": ["die App", "meine Bestellung", "die Rechnung", "die Kaffeemaschine", "mein Konto", "das Paket",
                  "den Router", "mein Abo", "die Geschenkkarte", "die Kopfhörer"],
        "context": ["Es geht um {thing} von letzter Woche.", "Ich schreibe wegen einer Frage zu Ihrem Angebot.",
                    "Das betrifft {thing}.", "Ich nutze das seit März.", "Meine Kundennummer ist {number}.", ""],
        "question": ["Wie ändere ich die Adresse für {thing}?", "Können Sie mir sagen, wann ich {thing} bekomme?",
                     "Gibt es eine Anleitung für {thing}?", "Wo finde ich die Einstellungen für {thing}?",
                     "Brauche ich eine Quittung für {thing}?", "Welchen Tarif brauche ich für {thing}?",
                     "Was kostet {thing} im Ausland?", "Darf ich {thing} an Freunde weitergeben?"],
        "fault": ["Seit gestern kann ich {thing} nicht mehr benutzen.", "Es gibt einen Fehler bei {thing}.",
                  "Ich kann {thing} nicht öffnen, es bricht jedes Mal ab.", "Bei {thing} fehlt etwas.",
                  "Nach dem Update schaltet sich alles ab.", "Die Anzeige bleibt dunkel.",
                  "Mir wurde {thing} doppelt berechnet.", "Ich habe {thing} mit einem Riss bekommen."],
        "complaint": ["Ich bin sehr enttäuscht, wie Sie mit Kunden umgehen.", "Ich will Ihren Vorgesetzten sprechen.",
                      "Ich schreibe zum dritten Mal und niemand antwortet.", "Ich erwarte eine Entschuldigung.",
                      "Ich werde allen erzählen, wie schlecht dieser Service ist.", "Das ist nicht hinnehmbar.",
                      "So unhöflich bin ich noch nie behandelt worden.", "Ich übergebe das meinem Anwalt."],
        "closing": ["Danke im Voraus.", "Viele Grüße", "Mit freundlichen Grüßen, {name}", "Bitte per Mail.", ""],
    },
    "fr": {
        "opener": ["Bonjour,", "Bonsoir,", "Chère équipe,", "Madame, Monsieur,", "Salut,", ""],
        "thing": ["l'application", "ma commande", "la facture", "la machine à café", "mon compte", "le colis",
                  "le routeur", "mon abonnement", "la carte cadeau", "le casque"],
        "context": ["C'est au sujet de la semaine dernière.", "Je vous écris à propos de votre offre.",
                    "Cela concerne {thing}.", "Je l'ai depuis mars.", "Mon numéro de client est {number}.", ""],
        "question": ["Comment changer l'adresse pour {thing} ?", "Pouvez-vous me dire quand je recevrai {thing} ?",
                     "Existe-t-il un mode d'emploi pour {thing} ?", "Où trouver les réglages pour {thing} ?",
                     "Faut-il un reçu pour {thing} ?", "Quelle formule me faut-il pour {thing} ?",
                     "Combien coûte {thing} à l'étranger ?", "Puis-je donner {thing} à un ami ?"],
        "fault": ["Depuis hier {thing} ne fonctionne plus.", "Il y a une erreur avec {thing}.",
                  "Je n'arrive pas à ouvrir {thing}, ça s'arrête chaque fois.", "Il manque quelque chose avec {thing}.",
                  "Après la mise à jour {thing} s'éteint sans cesse.", "L'écran reste noir.",
                  "On m'a facturé {thing} deux fois.", "J'ai reçu {thing} avec une fissure."],
        "complaint": ["Je suis très déçu de la façon dont vous traitez les clients.",
                      "Je veux parler à votre responsable.",
                      "C'est la troisième fois que j'écris et personne ne répond.",
                      "J'attends des excuses de votre part.",
                      "Je dirai à tout le monde combien ce service est mauvais.",
                      "C'est inacceptable.", "On ne m'a jamais traité aussi grossièrement.",
                      "Je vais confier cela à mon avocat."],
        "closing": ["Merci d'avance.", "Cordialement", "Bien à vous, {name}", "Réponse par mail s'il vous plaît.", ""],
    },
    "es": {
        "opener": ["Hola,", "Buenos días,", "Buenas tardes,", "Estimado equipo,", "A quien corresponda:", ""],
        "thing": ["la aplicación", "mi pedido", "la factura", "la cafetera", "mi cuenta", "el paquete",
                  "el router", "mi suscripción", "la tarjeta regalo", "los auriculares"],
        "context": ["Es sobre lo de la semana pasada.", "Escribo por su oferta.", "Se trata de {thing}.",
                    "Lo tengo desde marzo.", "Mi número de cliente es {number}.", ""],
        "question": ["¿Cómo cambio la dirección para {thing}?", "¿Me pueden decir cuándo recibiré {thing}?",
                     "¿Hay un manual para {thing}?", "¿Dónde encuentro los ajustes para {thing}?",
                     "¿Necesito un recibo para {thing}?", "¿Qué plan necesito para {thing}?",
                     "¿Cuánto cuesta {thing} en el extranjero?", "¿Puedo pasar {thing} a un amigo?"],
        "fault": ["Desde ayer no puedo usar {thing}.", "Hay un error con {thing}.",
                  "No puedo abrir {thing}, se para cada vez.", "Falta algo en {thing}.",
                  "Después de la actualización se apaga todo el tiempo.", "La pantalla se queda negra.",
                  "Me cobraron {thing} dos veces.", "Recibí {thing} con una grieta."],
        "complaint": ["Estoy muy decepcionado por cómo tratan a los clientes.", "Quiero hablar con su jefe.",
                      "Es la tercera vez que escribo y nadie contesta.", "Espero una disculpa de su parte.",
                      "Le contaré a todo el mundo lo malo que es este servicio.", "Esto es inaceptable.",
                      "Nunca me han tratado con tan poca educación.", "Se lo pasaré a mi abogado."],
        "closing": ["Gracias de antemano.", "Saludos cordiales", "Un saludo, {name}", "Contesten por correo.", ""],
    },
}  # fmt: skip
NAMES = ["Kim", "Alex Moreau", "J. Weber", "Sara", "M. Ortiz", "Dana Klein", "P. Rossi"]


def ticket(language: str, label: str, split: str, generator: np.random.Generator) -> str:
    """One ticket: greeting, context, what the customer wants, closing."""
    parts = PARTS[language]

    def one_of(kind: str) -> str:
        sentences = parts[kind]
        if kind in SHARES and split == "train":
            sentences = sentences[:SEEN]
        return str(sentences[generator.integers(len(sentences))])

    kinds = ["opener", "context", label, "closing"]
    if label == "complaint":  # what went wrong comes before the complaint or after it
        kinds[2:3] = ["fault", "complaint"] if generator.random() < 0.5 else ["complaint", "fault"]
    text = " ".join(filter(None, map(one_of, kinds)))
    filled = {"thing": one_of("thing"), "number": str(generator.integers(10_000, 99_999)),
              "name": NAMES[generator.integers(len(NAMES))]}  # fmt: skip
    for name, value in filled.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def write_tickets(folder: Path, seed: int) -> None:
    """Write the files of every language and split; each split has exactly the shares of the labels."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, ((language, split), size) in enumerate(SIZES.items()):
        generator = np.random.default_rng([seed, number])
        labels = [label for label, share in SHARES.items() for _ in range(round(share * size))]
        rows = []
        for place in generator.permutation(len(labels)):
            label = labels[place]
            rows.append({"text": ticket(language, label, split, generator), "label": label})
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (folder / f"{language}.{split}.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write_tickets(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
